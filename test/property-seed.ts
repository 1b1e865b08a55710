import fc from "fast-check";

const given = process.env.PROPERTY_SEED ?? "1";

// Properties use the same cases in every run, so failures repeat. `random` generates new ones.
if (given !== "random") fc.configureGlobal({ seed: Number(given) });
