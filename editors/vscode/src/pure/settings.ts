// Settings that go to the server: only those that the user has set, since any other would win over config.toml.

/** What VS Code says of one setting, the part that matters. */
export interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
}

export type Table = Record<string, Record<string, unknown>>;

/**
 * Tables as in config.toml, of the settings in `names` (`section.key`) that are set.
 *
 * Those of a workspace are left out unless it is trusted: they may be somebody else's.
 */
export function settingsToSend(
  names: readonly string[],
  inspect: (name: string) => Inspected | undefined,
  isTrusted: boolean,
): Table {
  const tables: Table = {};
  for (const name of names) {
    const inspected = inspect(name);
    const value = (isTrusted ? inspected?.workspaceValue : undefined) ?? inspected?.globalValue;
    const [section, key] = name.split(".");
    if (value !== undefined && value !== null && section !== undefined && key !== undefined) {
      (tables[section] ??= {})[key] = value;
    }
  }
  return tables;
}
