/** What kind of claim a summary makes that its source does not bear out. */
export type ClaimKind = "url" | "path" | "identifier" | "number" | "quote" | "attribution";

/** A claim that the source does not hold. */
export interface UnfoundClaim {
  readonly kind: ClaimKind;
  /** As the summary writes it. */
  readonly text: string;
}

/** What the check of a model's text against its source found. */
export interface SummaryCheck {
  readonly mode: "flag" | "remove" | "off";
  /** Claims that were looked up. */
  readonly checked: number;
  readonly unfound: readonly UnfoundClaim[];
  /** Those of `unfound` that were taken out of the text. */
  readonly removed: number;
}
