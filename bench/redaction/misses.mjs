// What the redaction misses and wrongly touches in the development half, and what it touches in recorded sessions, to look
// at: node bench/redaction/misses.mjs   (of the half that is kept back only figures are looked at)
import { fileURLToPath } from "node:url";
import { redact } from "../../packages/compact-context/dist/redaction/redactor.js";
import { HALVES, measure, touchedOf } from "./measure.mjs";
import { sessionLines } from "./transcripts.mjs";

const { misses, touchedLines } = await measure(redact, HALVES.development);
for (const { text } of misses)
  console.log("MISS", JSON.stringify(text.slice(0, 200)), "→", JSON.stringify(redact(text).slice(0, 160)));
for (const line of touchedLines) console.log("TOUCHED", redact(line).trim().slice(0, 200));
const sessions = sessionLines(fileURLToPath(new URL("../../../shared/transcripts", import.meta.url))) ?? [];
for (const line of await touchedOf(redact, sessions))
  console.log("SESSION", redact(line).trim().slice(0, 200));
