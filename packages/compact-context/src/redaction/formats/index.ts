import { clouds } from "./clouds.ts";
import { codeHosts } from "./code-hosts.ts";
import type { TokenFormat } from "./format.ts";
import { services } from "./services.ts";

/** Every token format that shows by its beginning. */
export const TOKEN_FORMATS: readonly TokenFormat[] = [...codeHosts, ...clouds, ...services];
