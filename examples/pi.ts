// An extension for pi: put it into .pi/extensions/compact.ts of a project, or name it with `pi --extension`.
import { compactExtension } from "compact-context/adapters/pi";

// biome-ignore lint/style/noDefaultExport: pi loads the default export of an extension
export default compactExtension({ config: { policy: { triggerPct: 0.7 } } });
