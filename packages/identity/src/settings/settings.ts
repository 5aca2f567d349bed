/**
 * The settings of the installation, which live in the store: what operators declare.
 * Every process reads them through a copy that is at most 50 ms old.
 */
import { NEVER_EXPIRES } from '@gatehouse/store';
import { z } from 'zod';
import {
  createRecordCache,
  hostName,
  parseRecord,
  RejectedChangeError,
  readForUpdate,
  role,
} from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { type AttributeDeclarations, attributeDeclarations } from './attributes.ts';
import { deleteFormerImages, readBrandImage, storeBrandImages } from './brand-images.ts';
import { brandingSchema, resolveBrands, withoutImageContents } from './branding.ts';
import { type BrowserHost, browserClientId, browserHostSchema } from './browser-host.ts';
import { installationLifetimes, type LifetimeSettings } from './lifetimes.ts';
import { assertNoConflict, operatorApi, operatorsSchema } from './operators.ts';
import { openRegistration, registrationSchema } from './registration.ts';
import {
  canonicalResource,
  isKnownScope,
  type Resource,
  resourceSchema,
  scopeName,
} from './resource.ts';
import { secondFactorSchema } from './second-factor.ts';
import {
  keepClientSecrets,
  sealClientSecrets,
  type Upstream,
  upstreamsSchema,
} from './upstreams.ts';

/** What a bootstrap file declares. */
export const settingsMembers = {
  resources: z.array(resourceSchema).default([]),
  /** Roles that routes can require, in addition to those of the scopes. */
  roles: z.array(role).max(200).default([]),
  userAttributes: attributeDeclarations.default({}),
  lifetimes: installationLifetimes.default({}),
  /**
   * Hosts that may have private addresses, where registered clients have their keys and logout
   * addresses. An absent member keeps what was declared before.
   */
  privateHosts: z.array(hostName).max(100).optional(),
  /** Clients whose id is the address of their metadata document. Absent, or without hosts: none. */
  clientIdMetadata: z
    .strictObject({
      /** `*`: every host, with a warning on the consent page for those that are not listed. */
      hosts: z.array(z.union([z.literal('*'), hostName])).max(200),
      /** What these clients can ask for. Undefined: all scopes of the declared resources. */
      scopes: z.array(scopeName).max(200).optional(),
    })
    .optional(),
  /** An absent member keeps what was declared before. Without any: off. */
  secondFactor: secondFactorSchema.optional(),
  /** Who may use the API of the console. An absent member keeps what was declared before. */
  operators: operatorsSchema.optional(),
  /** Hosts to which users sign in through `/_verify` of the gateway. */
  browserHosts: z.array(browserHostSchema).default([]),
  /** How the pages look. An absent member keeps what was declared before. */
  branding: brandingSchema.optional(),
  /** What users may do on the account page. */
  selfService: z
    .strictObject({
      /** Change their profile. Absent: everything but the email address. */
      profile: z.boolean().optional(),
      /** Download their data, and remove their account. Absent: no. */
      data: z.boolean().optional(),
    })
    .optional(),
  /** Organizations in which people create their accounts. An absent member keeps what was declared. */
  registration: registrationSchema.optional(),
  /** Where users have another account. An absent member keeps what was declared before. */
  upstreams: upstreamsSchema.optional(),
};

export type SettingsDefinition = Readonly<z.output<z.ZodObject<typeof settingsMembers>>>;

export type SettingsMember = keyof SettingsDefinition;

/** The members with entries for organizations, by id. */
export const membersByOrganization = ['branding', 'secondFactor', 'registration'] as const;

/** New members need a default. Otherwise, existing records are treated as damaged. */
const storedSettings = z.object(settingsMembers);

/** A definition without entries. */
const nothing = storedSettings.parse({});

export type Settings = ReturnType<typeof toSettings>;
/** A declared scope: its resource, its description, and the roles that may receive it. */
export type DeclaredScope = Resource['scopes'][string] & { readonly resource: Resource };

/** The key of the record, and the context of what is sealed in it. */
export const SETTINGS_KEY = 'settings';
/** The public addresses of gateways. Each of them identifies the device API. */
const DEVICE_API_KEY = 'device-api-addresses';

export type SettingsRegistry = ReturnType<typeof createSettingsRegistry>;

export function createSettingsRegistry(
  dependencies: SecretDependencies & {
    /** The public origin of the console. Undefined: there is none. */
    readonly consoleUrl?: string | undefined;
  },
) {
  const { store, now, sealer, consoleUrl } = dependencies;
  const parse = (text: string) => {
    const definition = parseRecord(storedSettings, text);
    return definition && toSettings(definition, consoleUrl);
  };
  const empty = toSettings(nothing, consoleUrl);
  const cache = createRecordCache(store, parse, now, (key) =>
    dependencies.onDamagedRecord?.('settings', key),
  );
  const readDefinition = async () =>
    ((await readForUpdate(store, SETTINGS_KEY, parse)) ?? empty).definition;

  /** What a definition means. @throws RejectedChangeError if resources or the console conflict */
  function resolve(definition: SettingsDefinition): Settings {
    assertNoConflict(consoleUrl, definition.resources);
    return toSettings(definition, consoleUrl);
  }

  function sealed(wanted: SettingsDefinition, { upstreams: known }: SettingsDefinition): Settings {
    const { upstreams } = wanted;
    return resolve(
      upstreams === undefined
        ? wanted
        : { ...wanted, upstreams: sealClientSecrets(upstreams, known ?? [], sealer, SETTINGS_KEY) },
    );
  }

  const write = (change: (existing: SettingsDefinition) => SettingsDefinition) =>
    withRecordLock(store, SETTINGS_KEY, async (assertHeld) => {
      const before = await readDefinition();
      const { definition } = sealed(change(before), before);
      const branding = await storeBrandImages(store, definition.branding);
      const after: SettingsDefinition = { ...definition, branding };
      assertHeld();
      await store.set(SETTINGS_KEY, JSON.stringify(after));
      cache.forget(SETTINGS_KEY);
      await deleteFormerImages(store, before.branding, branding);
      return { before, after };
    });

  return {
    /** The same object as long as nothing changes. @throws StoreUnavailableError */
    read: async (): Promise<Settings> => (await cache.read(SETTINGS_KEY)) ?? empty,
    /** The settings that `apply` would write. @throws RejectedChangeError as `apply` does */
    preview: async (change: Partial<SettingsDefinition>): Promise<Settings> =>
      resolve(merge(await readDefinition(), change)),
    /**
     * Adds and replaces resources, attributes, lifetimes and browser hosts by their names, adds roles,
     * and replaces the other members that are present.
     *
     * @returns the members that changed
     * @throws RejectedChangeError if two resources have the same scope, or one has a scope of the API
     *   of the console
     */
    apply: (change: Partial<SettingsDefinition>): Promise<readonly SettingsMember[]> =>
      write((existing) => merge(existing, change)).then(changedMembers),
    /** Removes what is declared for an organization. */
    forgetOrganization: (orgId: string): Promise<readonly SettingsMember[]> =>
      write((existing) => {
        const definition = structuredClone(existing);
        for (const member of membersByOrganization) {
          delete definition[member]?.organizations[orgId];
        }
        return definition;
      }).then(changedMembers),
    /**
     * Replaces members as a whole. An absent client secret of an upstream provider stays.
     *
     * @param decide gets what is declared, under the lock. It throws to change nothing
     * @returns what was and is declared
     */
    replace: (decide: (existing: SettingsDefinition) => Partial<SettingsDefinition>) =>
      write((existing) => replaced(existing, decide(existing))),
    /** What `replace` would write. @throws RejectedChangeError as `replace` does */
    async previewReplacement(change: Partial<SettingsDefinition>) {
      const before = await readDefinition();
      const branding = withoutImageContents({ ...before, ...change }.branding);
      return { before, after: sealed(replaced(before, { ...change, branding }), before) };
    },
    /** An image that `branding` names. @throws StoreUnavailableError */
    readImage: (hash: string) => readBrandImage(store, hash),
    /** A gateway calls this when it starts. */
    addDeviceApi: (publicUrl: string): Promise<void> =>
      store.addToIndex(DEVICE_API_KEY, canonicalResource(publicUrl), NEVER_EXPIRES),
    isDeviceApi: async (identifier: string): Promise<boolean> =>
      (await store.members(DEVICE_API_KEY)).includes(canonicalResource(identifier)),
  };
}

const changedMembers = ({ before, after }: Record<'before' | 'after', SettingsDefinition>) =>
  (Object.keys(settingsMembers) as SettingsMember[]).filter(
    (member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]),
  );

/** An absent client secret of an upstream provider stays. */
function replaced(existing: SettingsDefinition, change: Partial<SettingsDefinition>) {
  const { upstreams } = change;
  const kept = upstreams && { upstreams: keepClientSecrets(upstreams, existing.upstreams ?? []) };
  return { ...existing, ...change, ...kept };
}

function merge(existing: SettingsDefinition, change: Partial<SettingsDefinition>) {
  const added = { ...nothing, ...change };
  const merged = {
    ...existing,
    ...added,
    resources: replacing(({ resource }) => resource, existing.resources, added.resources),
    roles: [...new Set([...existing.roles, ...added.roles])],
    userAttributes: { ...existing.userAttributes, ...added.userAttributes },
    lifetimes: { ...existing.lifetimes, ...added.lifetimes },
    browserHosts: replacing(({ host }) => host, existing.browserHosts, added.browserHosts),
  };
  // A change can be a whole bootstrap file, whose other members do not belong here.
  return storedSettings.parse(merged);
}

/** An entry keeps its place, so that the same file changes nothing. */
function replacing<Entry>(
  nameOf: (entry: Entry) => string,
  ...lists: readonly (readonly Entry[])[]
): Entry[] {
  return [...new Map(lists.flat().map((entry) => [nameOf(entry), entry])).values()];
}

/** @throws RejectedChangeError if two resources have the same scope */
function toSettings(definition: SettingsDefinition, consoleUrl?: string) {
  const { upstreams = [] } = definition;
  const resources = new Map(definition.resources.map((each) => [each.resource, each]));
  const scopes = new Map<string, DeclaredScope>();
  for (const resource of resources.values()) {
    for (const [name, scope] of Object.entries(resource.scopes)) {
      const other = scopes.get(name);
      if (other !== undefined) {
        throw new RejectedChangeError(
          `The resources ${other.resource.resource} and ${resource.resource} both declare the scope ${name}.`,
        );
      }
      scopes.set(name, { ...scope, resource });
    }
  }
  const roles = [...scopes.values()].flatMap((scope) => scope.roles);
  return {
    definition,
    privateHosts: definition.privateHosts ?? [],
    clientIdMetadata: {
      hosts: definition.clientIdMetadata?.hosts ?? [],
      scopes: (definition.clientIdMetadata?.scopes ?? [...scopes.keys()]).filter(
        (scope) => scopes.has(scope) || isKnownScope(scope),
      ),
    },
    /** By identifier. The device API is not one of them. */
    resources: resources as ReadonlyMap<string, Resource>,
    /** The scopes of these resources, by name. Each belongs to exactly one. */
    scopes: scopes as ReadonlyMap<string, DeclaredScope>,
    /** The API of the console, which is in neither list. Undefined: there is none. */
    operators: operatorApi(consoleUrl, definition),
    secondFactor: definition.secondFactor,
    roles: new Set([...definition.roles, ...roles]) as ReadonlySet<string>,
    userAttributes: definition.userAttributes as AttributeDeclarations,
    /** Of the installation. `lifetimesOf` combines them with those of clients and resources. */
    lifetimes: definition.lifetimes as LifetimeSettings,
    /** By client id. */
    browserHosts: new Map(
      definition.browserHosts.map((entry) => [browserClientId(entry.host), entry]),
    ) as ReadonlyMap<string, BrowserHost>,
    /** By organization. */
    brandOf: resolveBrands(definition.branding ?? {}),
    selfService: {
      profile: definition.selfService?.profile !== false,
      email: definition.selfService?.profile === true,
      data: definition.selfService?.data === true,
    },
    /** Undefined if the registration of the organization is closed. */
    registrationOf: (orgId: string) =>
      openRegistration(definition.registration ?? { organizations: {} }, orgId),
    /** By id, in the order of their buttons. */
    upstreams: new Map(upstreams.map((each) => [each.id, each])) as ReadonlyMap<string, Upstream>,
    /** The id of the provider for addresses of a domain. */
    upstreamOfDomain: new Map(
      upstreams.flatMap(({ id, emailDomains }) => emailDomains.map((domain) => [domain, id])),
    ) as ReadonlyMap<string, string>,
  };
}

export const noSettings = toSettings(nothing);
