import { CompactError } from "compact-context/internal/errors";
import { postgresDdl } from "compact-context/internal/storage/postgres/client";
import { readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import { oneLine } from "../render/width.ts";

/** Prints the statements that make or bring up to date the tables of Postgres. */
export async function printDdl(invocation: Invocation): Promise<number> {
  const { config } = readConfig(invocation);
  const [role, version = "0"] = invocation.words;
  if (!/^\d+$/.test(version)) {
    throw new CompactError(
      "InvalidUsage",
      `the version of the tables must be a whole number, not ${oneLine(version)}`,
      {
        hint: "Write compact storage ddl ROLE 2, or leave it out where there are no tables yet.",
      },
    );
  }
  invocation.ports.stdout.write(postgresDdl({ schema: config.storage.schema, from: Number(version), role }));
  return 0;
}
