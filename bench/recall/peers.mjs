// What else finds text: each takes candidates and gives `search(query, limit)`, ids best first.
import { createRecallIndex } from "../../packages/compact-context/dist/memory/index.js";
import { optional } from "../peers.mjs";

const ours = {
  name: "compact-context",
  create(candidates, options) {
    const index = createRecallIndex(candidates, options);
    return { search: (query, limit) => index.search(query, { limit }).map(({ id }) => id), close() {} };
  },
};

const miniSearch = (MiniSearch, name, options) => ({
  name,
  create(candidates) {
    const index = new MiniSearch({ fields: ["content", "author"] });
    index.addAll(candidates);
    return {
      search: (query, limit) =>
        index
          .search(query, options)
          .slice(0, limit)
          .map(({ id }) => id),
      close() {},
    };
  },
});

const fts5 = (sqlite, name, tokenizer) => ({
  name,
  create(candidates) {
    const database = new sqlite.Database();
    database.exec(
      `create virtual table units using fts5(id unindexed, author, content, tokenize = "${tokenizer}")`,
    );
    database.exec("begin");
    const insert = database.prepare("insert into units values (?, ?, ?)");
    for (const { id, author, content } of candidates) insert.run([id, author ?? "", content]);
    database.exec("commit");
    const select = database.prepare("select id from units where units match ? order by bm25(units) limit ?");
    return {
      search(query, limit) {
        const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
        if (words.length === 0) return [];
        return select.all([words.map((word) => `"${word}"`).join(" OR "), limit]).map(({ id }) => id);
      },
      close() {
        insert.finalize();
        select.finalize();
        database.close();
      },
    };
  },
});

/** Ours, then those that are installed. */
export async function systems() {
  const MiniSearch = (await optional("minisearch"))?.default;
  const sqlite = (await optional("node-sqlite3-wasm"))?.default;
  return [
    ours,
    ...(MiniSearch === undefined
      ? []
      : [
          miniSearch(MiniSearch, "MiniSearch", {}),
          miniSearch(MiniSearch, "MiniSearch, fuzzy and prefix", { fuzzy: 0.2, prefix: true }),
        ]),
    ...(sqlite === undefined
      ? []
      : [
          fts5(sqlite, "SQLite FTS5 unicode61, OR", "unicode61"),
          fts5(sqlite, "SQLite FTS5 porter, OR", "porter unicode61"),
        ]),
  ];
}
