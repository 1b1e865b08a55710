import fc from "fast-check";

const given = process.env.PROPERTY_SEED ?? "1";

// What a property is tried on is the same in every run: what fails once fails again. `random` draws anew.
if (given !== "random") fc.configureGlobal({ seed: Number(given) });
