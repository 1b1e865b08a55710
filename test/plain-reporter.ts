import type { Reporter, TestModule } from "vitest/node";

/** Closes a run with one plain line, `N passed, N failed`, and names what was skipped and what failed. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0;
    const failed = unhandled.map((error) => `outside of a test: ${firstLine(error)}`);
    const skipped: string[] = [];
    for (const module of modules) {
      const file = module.relativeModuleId;
      if (module.state() === "failed" && [...module.children.allTests()].length === 0)
        failed.push(`${file}: ${firstLine(module.errors()[0])}`);
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === "passed") passed += 1;
        else if (state === "failed") failed.push(`${file}: ${test.fullName}: ${firstLine(errors?.[0])}`);
        else skipped.push(test.fullName);
      }
    }
    for (const name of skipped) console.log(`skipped: ${name}`);
    for (const line of failed) console.log(`failed: ${line}`);
    console.log(
      `${passed} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`,
    );
  }
}

function firstLine(error: unknown): string {
  const message = error instanceof Object && "message" in error ? error.message : error;
  return String(message).split("\n", 1)[0] ?? "";
}
