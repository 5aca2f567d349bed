/** The library always registers `form_post` as well; its page needs an inline script, which Gatehouse never uses. */
export const responseModes: readonly string[] = ['query', 'fragment'];
