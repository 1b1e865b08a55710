export interface Requirement {
  readonly id: string;
  readonly statement: string;
  /** The test file that proves it; undefined for one that is not proven yet. */
  readonly proof: string | undefined;
}
export function readRequirements(text?: string): Requirement[];
export function testNames(text: string): string[];
export function namedIds(families: ReadonlySet<string>): Map<string, Map<string, number>>;
