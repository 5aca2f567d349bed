import type { Identity } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { FailedSecrets } from '../../throttle/failed-secrets.ts';
import type { SecurityProfile } from '../policy/grant-types.ts';
import type { FormPostPage } from './form-post-mode.ts';

/** Something in the library that Gatehouse replaces, or uses although it is not documented. */
export interface Patch {
  readonly name: string;
  /** Why the library's own behavior is not enough, and why no documented setting helps. */
  readonly reason: string;
  /** The file of the library to compare when the library is upgraded. */
  readonly libraryFile: string;
  /** What the library must have, or the patch would do nothing or the wrong thing. */
  readonly joints: readonly Joint[];
  /** Absent if another file uses the joints later. */
  readonly apply?: (provider: Provider, dependencies: PatchDependencies) => void;
}

/** One member of one object inside the library. */
export interface Joint {
  readonly name: string;
  readonly member: string;
  readonly holderOf: (provider: Provider) => object | undefined;
  readonly isExpected: (holder: object) => boolean;
}

export interface PatchDependencies {
  readonly identity: Identity;
  readonly securityProfile: SecurityProfile;
  readonly failedSecrets: Pick<FailedSecrets, 'assertMayTry'>;
  readonly formPostPage: FormPostPage;
  /** The token that follows a refresh token. */
  readonly successorOf: (refreshToken: string) => string;
}

/** A method with this number of parameters. */
export function methodJoint(
  holder: string,
  holderOf: Joint['holderOf'],
  member: string,
  parameters: number,
): Joint {
  return {
    name: `${holder}.${member}()`,
    member,
    holderOf,
    isExpected: (object) => {
      const value: unknown = Reflect.get(object, member);
      return typeof value === 'function' && value.length === parameters;
    },
  };
}

/** A property whose value passes the test. */
export function propertyJoint(
  holder: string,
  holderOf: Joint['holderOf'],
  member: string,
  isExpected: (value: unknown) => boolean,
): Joint {
  return {
    name: `${holder}.${member}`,
    member,
    holderOf,
    isExpected: (object) => isExpected(Reflect.get(object, member)),
  };
}
