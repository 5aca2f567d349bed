const SHOWN_CLIENTS = 5;

export function listed(names: readonly string[]): string {
  const more = names.length - SHOWN_CLIENTS;
  const shown = names.slice(0, SHOWN_CLIENTS).join(', ');
  const noun = names.length === 1 ? 'This client' : 'These clients';
  return `${noun} (${shown}${more > 0 ? ` and ${more} more` : ''})`;
}
