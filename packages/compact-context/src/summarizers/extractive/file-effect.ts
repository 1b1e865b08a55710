/** What a call did to one file, as its arguments say. */
export interface FileEffect {
  readonly path: string;
  readonly effect: "edited" | "created" | "deleted" | "read";
}
