// The API reference of every public entry point, written into docs/api (not committed). A link that leads nowhere is an
// error. `--check` writes nothing.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";

const root = fileURLToPath(new URL("..", import.meta.url));
const library = join(root, "packages/compact-context");
const { exports: subpaths } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
/** By the name that typedoc gives a module, its entry point and the name that people import it by. */
const modules = new Map(
  Object.entries(subpaths).flatMap(([subpath, target]) => {
    if (typeof target === "string" || subpath.includes("*")) return [];
    const path = target.default.replace(/^\.\/lib\/(.*)\.js$/, "$1");
    return [[path.replace(/\/index$/, ""), { path, name: join("compact-context", subpath) }]];
  }),
);

const app = await Application.bootstrap({
  name: "compact-context",
  entryPoints: [...modules.values()].map(({ path }) => join(library, "src", `${path}.ts`)),
  tsconfig: join(library, "tsconfig.json"),
  // `npm run types` says what is wrong with types.
  skipErrorChecking: true,
  basePath: join(library, "src"),
  displayBasePath: join(library, "src"),
  out: join(root, "docs/api"),
  readme: "none",
  disableSources: true,
  excludeExternals: true,
  // A type that is only reached through others need not have a name at an entry.
  validation: { notExported: false, invalidLink: true, invalidPath: true, notDocumented: false },
  treatValidationWarningsAsErrors: true,
});

const project = await app.convert();
if (project === undefined) process.exit(1);
for (const module of project.children ?? []) module.name = modules.get(module.name)?.name ?? module.name;
app.validate(project);
if (!process.argv.includes("--check")) await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
if (!process.argv.includes("--check")) console.log("docs/api/index.html");
