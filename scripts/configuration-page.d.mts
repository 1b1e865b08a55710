export function commonSettings(table: string): string;
