/** A one-line change that breaks a requirement, and the test that must notice. */
export interface Mutant {
  /** The requirement. */
  readonly id: string;
  /** What is broken, in words. */
  readonly what: string;
  /** Where; of several places one is there. */
  readonly file: string | readonly string[];
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The test file, and what the name of the test begins with. */
  readonly test: string;
  readonly name: string;
}
export const MUTANTS: readonly Mutant[];
