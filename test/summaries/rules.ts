import { HEADINGS } from "../../packages/compact-context/src/summarizers/extractive/format.ts";
import { o200kBase } from "../../packages/compact-context/src/tokens/encodings/o200k-base.ts";

/** Prohibitions and requirements of users, three sentences per language. */
export const RULES: Readonly<Record<string, readonly string[]>> = {
  English: [
    "Never push to the release branch.",
    "Always run the linter before a commit.",
    "Only change files below src/billing.",
  ],
  Chinese: ["不要修改 src/auth 目录下的文件。", "必须使用 pnpm 而不是 npm。", "只能写入测试数据库。"],
  Japanese: [
    "本番のデータベースには絶対に触らないでください。",
    "必ずテストを先に書いてください。",
    "設定ファイルは config/app.yaml のみ編集できます。",
  ],
  German: [
    "Ändere niemals die Datei schema.sql.",
    "Die Tests müssen immer grün sein.",
    "Du darfst nur den Ordner lib anfassen.",
  ],
  French: [
    "Ne supprime jamais les migrations.",
    "Les messages doivent rester en français.",
    "Utilise seulement la version 3 de l'API.",
  ],
  Spanish: [
    "Nunca borres el archivo de registro.",
    "Siempre usa comillas dobles.",
    "Solo puedes leer la tabla de clientes.",
  ],
  Portuguese: [
    "Sempre valide a entrada antes de gravar.",
    "As datas devem ficar em UTC.",
    "Use somente a fila de testes.",
  ],
  Russian: [
    "Никогда не меняй файл конфигурации сервера.",
    "Всегда пиши тесты до кода.",
    "Нельзя добавлять новые зависимости.",
  ],
};

/** Tokens of the section that contains these rules. */
export function sectionTokens(rules: readonly string[]): number {
  const heading = o200kBase.count(`## ${HEADINGS.rules}\n`);
  return rules.reduce((total, rule) => total + o200kBase.count(`- ${rule}\n>`), heading);
}
