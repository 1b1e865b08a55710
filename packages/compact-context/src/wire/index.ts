export { type CompactFetchOptions, compactFetch } from "./fetch.ts";
export { createWire, type PassedBy, type Wire, type WireCall, type WireOptions } from "./wire.ts";
