import { lookUpModel } from "../tokens/models.ts";

/** The given window, else that of a model whose name is known; empty when neither is there. */
export function windowOf(model: string, given: number | undefined): { readonly window?: number } {
  if (given !== undefined) return { window: given };
  const { known, window } = lookUpModel(model);
  return known ? { window } : {};
}
