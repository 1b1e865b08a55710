// Compiled, never run: the extension matches pi's own extension type.
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { CompactManager } from "compact-context";
import { compactExtension } from "compact-context/adapters/pi";

export const plain: ExtensionFactory = compactExtension();
export const given: ExtensionFactory = compactExtension({ manager: new CompactManager({ model: "gpt-4o" }) });
