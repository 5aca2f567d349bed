import type { KoaContextWithOIDC } from 'oidc-provider';
import { libraryInternals, requireInternals } from './library-internals.ts';
import type { Patch } from './patch.ts';

/** Replies with a page that posts the parameters to the redirect URI. */
export type FormPostPage = (
  context: KoaContextWithOIDC,
  redirectUri: string,
  parameters: Readonly<Record<string, unknown>>,
) => void;

const MODE = 'form_post';

export const formPostMode: Patch = {
  name: 'form-post-mode',
  reason:
    'The page of the library for response_mode=form_post has an inline script, which the Content Security Policy of ' +
    'the pages forbids, and is in English only. registerResponseMode() does not replace a mode of the library.',
  libraryFile: 'lib/response_modes/form_post.js',
  joints: [
    {
      name: `responseModes.get('${MODE}')`,
      member: 'responseModes',
      holderOf: libraryInternals,
      isExpected: (internals) => {
        const modes: unknown = Reflect.get(internals, 'responseModes');
        return modes instanceof Map && typeof modes.get(MODE) === 'function';
      },
    },
  ],
  apply(provider, { formPostPage }) {
    requireInternals(provider).responseModes.set(MODE, formPostPage);
  },
};
