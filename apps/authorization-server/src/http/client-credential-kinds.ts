/** How a request authenticated its client, or presented its token. A label of log and metrics. */
export const clientCredentialKinds = ['basic', 'body', 'bearer'] as const;

export type ClientCredentialKind = (typeof clientCredentialKinds)[number];
