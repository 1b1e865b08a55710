import { compilePatterns } from "../redaction/custom-patterns.ts";

// Whether redaction patterns of a file that was only found leave ordinary text readable.

/** Shares of ordinary lines and of their characters; patterns that together take more are refused. */
const MOST_LINES = 0.05;
const MOST_CHARS = 0.1;

/**
 * True for patterns that together match much of any text: redacted text can no longer be found. Invalid ones are
 * reported elsewhere.
 */
export function takesOrdinaryText(patterns: unknown): boolean {
  try {
    return Array.isArray(patterns) && isBroad(compilePatterns(patterns.map(String)));
  } catch {
    return false;
  }
}

function isBroad(find: ReturnType<typeof compilePatterns>): boolean {
  const isTaken = new Uint8Array(ORDINARY_TEXT.length);
  for (const { start, end } of find(ORDINARY_TEXT)) isTaken.fill(1, start, end);
  const chars = isTaken.reduce((total, one) => total + one, 0);
  let start = 0;
  const touched = LINES.filter((line) => {
    const own = isTaken.subarray(start, start + line.length);
    start += line.length + 1;
    return own.includes(1);
  });
  return touched.length > LINES.length * MOST_LINES || chars > ORDINARY_TEXT.length * MOST_CHARS;
}

/** Typical session content: prose of several languages, code, calls, logs and other output. */
const LINES: readonly string[] =
  `Please look at why the retry test fails, then mend it. Do not change the public interface.
I read the file: the queue waits for its worker, but nobody wakes it after a timeout.
The cause is a missing await in the handler, so the error is lost and the job stays open for ever.
You are right, that was my mistake. I will add a test first and run everything again.
We decided to keep the old table until March, because two customers still read from it.
Could you also explain how the cache is invalidated when a user changes the password?
Yes. Each write bumps a version number; readers compare it with theirs and load the row again.
What was the name of the branch we used yesterday? I think it was something with billing.
Next steps: update the documentation, release version 2.14, and tell the support team.
Thanks, it works now. One more thing: make the button blue and a bit larger on small screens.
Always answer in short sentences, and never commit without asking me.
The price went from 19.90 to 24.50 euros, about 23 % more than in 2025.
Bitte prüfe, warum die Prüfung fehlschlägt, und ändere dann die Größe der Übersicht für später.
Die Lösung läuft jetzt, aber für größere Aufträge müssen wir die Schlüssel natürlich noch ändern.
Könntest du außerdem erklären, welche Änderungen für die Kunden nötig wären?
Peux-tu vérifier pourquoi la requête échoue à l'étape de création ? Elle a déjà été corrigée.
¿Puedes revisar por qué falló la compilación? Mañana habrá una reunión con el señor Núñez.
Пожалуйста, проверь, почему тест не проходит, и исправь ошибку в обработчике запросов.
Мы решили оставить старую таблицу, потому что ею ещё пользуются два клиента.
После этого обнови документацию и напиши, что изменилось в новой версии.
Посмотри также журнал сервера за вчера.
Теперь всё работает, спасибо.
请检查为什么测试失败，然后修复处理程序中的错误，不要更改公共接口。
我们决定保留旧表，因为还有两个客户在使用它。
接下来更新文档，并告诉支持团队发布了新版本。
现在可以了，谢谢你的帮助。
昨天使用的分支叫什么名字？
テストが失敗する理由を調べて、ハンドラーのエラーを直してください。
古いテーブルは、まだ二社が使っているので残すことにしました。
次にドキュメントを更新して、サポートのチームに知らせます。
ボタンをもう少し大きくしてください。
これで動きます、ありがとう。
import { createWorker } from "./worker.js";
const worker = createWorker({ name: "ledger", retries: 3 }); // see docs/retry.md, line 42
export async function drain(queue: Queue, limit = 100): Promise<number> {
  let done = 0;
  for (const job of queue.jobs) {
    if (job.state !== "open" || done >= limit) continue;
    await worker.run(job.id).catch((error: unknown) => report(error, { job: job.id }));
    done += 1;
  }
  return done;
}
function report(error, context) { console.error("job failed", error.message, context); }
var later = function (delay) { return setTimeout(function () { drain(queue); }, delay); };
module.exports = function (app) { app.get("/health", function (req, res) { res.send("ok"); }); };
describe("queue", function () { it("drains", async function () { expect(await drain(q)).toBe(2); }); });
<button className="primary" onClick={() => setOpen(!open)} disabled={items.length === 0}>Save</button>
.primary { color: #1a73e8; padding: 8px 16px; border-radius: 4px; }
def load(path: str, encoding="utf-8") -> dict:
    """Return the settings of a file, or the defaults."""
    with open(path, encoding=encoding) as file:
        return {**DEFAULTS, **json.load(file)}
class OrderService(BaseService):
    def __init__(self, repository, clock=None):
        self.repository = repository
func (s *Server) Close(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil { return fmt.Errorf("close: %w", err) }
public static void main(String[] args) throws IOException { new App().start(8080); }
SELECT o.id, c.name, SUM(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1, 2;
server: { image: "node:22-slim", ports: ["3000:3000"], restart: always, memory: 512M }
{"role":"user","content":"run npm test","id":"call_1","arguments":{"path":"src/queue.ts"}}
{"type":"tool_result","tool_use_id":"toolu_01","content":"14 files changed, 230 insertions(+)","is_error":false}
{"name":"ledger","version":"2.13.0","private":true,"scripts":{"build":"tsc -p .","test":"vitest run"}}
$ git log --oneline -3 && git status --short
9f1c2ab Fix the order of retries
 M src/queue.ts
@@ -42,7 +42,9 @@ export class Queue {
-    this.jobs.push(job);
+    if (!this.closed) this.jobs.push(job);
src/orders/service.ts:118:  const total = items.reduce((sum, item) => sum + item.price * item.count, 0);
-rw-r--r--  1 ana  staff   4096 May  1 10:20 package.json
FAIL test/queue.test.ts > waits for the worker, 12 passed, 1 failed (3.4 s) at 2026-05-01 10:20:30
AssertionError: expected 2 to be 3 // Object.is equality
    at Object.<anonymous> (/home/ana/work/ledger/test/queue.test.ts:31:18)
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/app/main.py", line 57, in load
KeyError: 'window'
2026-05-01T10:20:31.482Z INFO  server started on port 8080 in 812 ms
2026-05-01T10:20:34.007Z WARN  slow query, 1840 ms, warning threshold is 1000 ms
2026-05-01T10:21:02.915Z ERROR connection reset by peer, retrying in 5 s (attempt 2 of 3)
192.168.4.12 - ana@example.org "GET /orders/6f0b3c1e-52a7-4d0e-9a63-7be1f4d2c881 HTTP/1.1" 200 512
src/index.ts(12,7): error TS2322: Type 'string' is not assignable to type 'number'.
npm warn deprecated inflight@1.0.6: this module is not supported, see https://www.npmjs.com
warning: unused variable: \`count\`, 0 errors, 1 warning emitted in 4.21s`.split("\n");

/** Also with a very long line, as output without line breaks has them. */
const ORDINARY_TEXT = `${LINES.join("\n")}\n${LINES.join(" ")}`;
