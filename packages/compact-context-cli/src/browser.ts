import { spawn } from "node:child_process";
import { CompactError } from "compact-context/internal/errors";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a link of ours in the person's browser; rejects where there is no way to. */
export async function openInBrowser(link: string): Promise<void> {
  const [program, ...words] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...words, link], { detached: true, stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      reject(
        new CompactError("NotFound", `the browser could not be opened: there is no ${program}`, {
          hint: "Open the link yourself.",
          cause,
        }),
      );
    });
  });
  child.unref();
}
