// The documents that are completed.

/** Schemes of texts that somebody edits: files, new ones, cells of notebooks, and files that are not on a disk. */
const SCHEMES = ["file", "untitled", "vscode-notebook-cell", "vscode-vfs"] as const;

export const SELECTOR = SCHEMES.map((scheme) => ({ scheme }));

/** Whether a document is one of those. */
export function isOurs(document: { readonly uri: { readonly scheme: string } }): boolean {
  return SCHEMES.some((scheme) => scheme === document.uri.scheme);
}
