// One of several processes that keep a conversation each under one session id; all compact as often as they can.
// The one argument is JSON: kind, url, schema, root, endpoint, name, calls; `endpoint` is that of an S3. Says `up`, then at `go` works, and ends with a
// line of JSON: what its calls rejected with, and which of its facts left the list.
import { once } from "node:events";
import { S3Client } from "@aws-sdk/client-s3";
import { CompactManager } from "../../packages/compact-context/dist/index.js";
import { createFsDriver } from "../../packages/compact-context/dist/storage/fs/driver.js";
import { createPostgresDriver } from "../../packages/compact-context/dist/storage/postgres/driver.js";
import { createS3Driver } from "../../packages/compact-context/dist/storage/s3/driver.js";

const { kind, url, schema, root, endpoint, name, calls } = JSON.parse(process.argv[2] ?? "{}");
const drivers = {
  fs: () => createFsDriver({ root }),
  postgres: () => createPostgresDriver({ url, schema, connections: 2 }),
  s3: () => {
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
    return createS3Driver({ bucket: "bucket", client });
  },
};
const storage = drivers[kind]();
const manager = new CompactManager(
  { model: "gpt-4o", maxContextTokens: 6000, policy: { hardCapBuffer: 100 } },
  { storage, onWarning: () => {} },
);

process.stdout.write("up\n");
await once(process.stdin, "data");
let list = [{ role: "system", content: "You note facts." }];
const rejected = [];
const left = [];
for (let call = 0; call < calls; call++) {
  for (let n = call * 4; n < call * 4 + 4; n++) {
    const fact = `fact-${name}-${n} ${"lorem ipsum dolor ".repeat(40)}`;
    list = [...list, { role: "user", content: fact }, { role: "assistant", content: `noted ${n}` }];
  }
  try {
    const { messages } = await manager.preflight("busy", list);
    const kept = new Set(messages.map(({ content }) => content));
    const gone = list.filter(({ content }) => content.startsWith("fact-") && !kept.has(content));
    left.push(...gone.map(({ content }) => content.split(" ")[0]));
    list = messages;
  } catch (error) {
    rejected.push(`${error.code} ${error.message}`);
  }
}
await manager.flush();
process.stdout.write(`${JSON.stringify({ rejected, left })}\n`);
process.exit(0);
