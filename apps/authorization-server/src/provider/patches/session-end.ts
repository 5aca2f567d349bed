import { endedSessionKey } from '../policy/sessions.ts';
import { methodJoint, type Patch } from './patch.ts';

/**
 * A request that runs while the session ends must not write it back. No request takes longer than
 * this.
 */
const ENDED_SESSION_SECONDS = 60 * 60;

const prototypeOf: Parameters<typeof methodJoint>[1] = (provider) => provider.Session.prototype;

export const sessionEnd: Patch = {
  name: 'session-end',
  reason:
    'A sign-out ends the grants of the session first (docs/decisions/15-sign-out.md); the ' +
    'library revokes none. An adapter cannot do it, because the library also destroys a record to rename a ' +
    'session. The library throws when an error page touches a session that was never stored.',
  libraryFile: 'lib/models/session.js',
  joints: [
    methodJoint('Session.prototype', prototypeOf, 'destroy', 0),
    methodJoint('Session.prototype', prototypeOf, 'persist', 0),
  ],
  apply(provider, { identity: { store, credentialHash } }) {
    const session = provider.Session.prototype;
    const { destroy, persist } = session;
    session.destroy = async function destroyWithGrants() {
      // An anonymous session is not in the store. A record of its end would let any caller fill the
      // store.
      if (this.accountId !== undefined) {
        const key = endedSessionKey(credentialHash(this.uid));
        await store.set(key, '', ENDED_SESSION_SECONDS, { revokes: true });
      }
      for (const { grantId } of Object.values(this.authorizations ?? {})) {
        const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
        await grant?.destroy();
      }
      await destroy.call(this);
    };
    session.persist = async function persistIfStored() {
      return typeof this.exp === 'number' ? persist.call(this) : this.jti;
    };
  },
};
