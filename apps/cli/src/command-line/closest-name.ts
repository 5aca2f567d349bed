/** The name that the entered one is probably a misspelling of. */
export function closestName(entered: string, names: readonly string[]): string | undefined {
  const tolerated = Math.max(2, Math.floor(entered.length / 3));
  const [closest] = names
    .map((name) => ({ name, distance: editDistance(entered, name) }))
    .filter(({ distance }) => distance <= tolerated)
    .sort((a, b) => a.distance - b.distance);
  return closest?.name;
}

/** How many characters have to be added, removed or replaced (Levenshtein). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, character] of [...a].entries()) {
    const current = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (previous[j] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
