export { textModelFromUrl, type UrlTextModelOptions } from "./text-model.ts";
