export { type CompactFetchOptions, compactFetch } from "./fetch.ts";
export { createWire, type Wire, type WireCall, type WireOptions } from "./wire.ts";
