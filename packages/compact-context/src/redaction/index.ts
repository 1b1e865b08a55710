export { createRedactor, type Redactor, type RedactorOptions, redact } from "./redactor.ts";
