// One benchmark in a process of its own: NAME [quick]; its figures go to the parent.
import { loadBench } from "./benches.mjs";

const [name, size] = process.argv.slice(2);
const { run } = await loadBench(name);
const figures = await run({ quick: size === "quick" });
process.send(figures, () => process.exit(0));
