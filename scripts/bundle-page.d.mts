/** Writes the page's files into a folder. */
export function bundlePage(folder: string): Promise<void>;
