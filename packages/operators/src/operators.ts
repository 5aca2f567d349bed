import type { Identity, SigningKeyPolicy } from '@gatehouse/identity';
import { createAuditActs } from './audit.ts';
import { createClientKeyActs } from './client-keys.ts';
import { createClientUseActs } from './client-use.ts';
import { createClientActs } from './clients.ts';
import { createDeclarationActs } from './declarations.ts';
import { createDeviceActs, type DeviceServiceSettings } from './devices.ts';
import { createFigureActs } from './figures.ts';
import { createFindingActs } from './findings.ts';
import { createInstallationActs } from './installation.ts';
import { createDependencies, withOperatorErrors } from './operator.ts';
import { createOrganizationActs } from './organizations.ts';
import { createRequestActs } from './requests.ts';
import { createSettingsActs } from './settings.ts';
import { createSigningKeyActs } from './signing-keys.ts';
import { createTokenActs } from './tokens.ts';
import { createUserAccessActs } from './user-access.ts';
import { createUserActs } from './users.ts';

export type Operators = ReturnType<typeof openOperators>;

/**
 * Everything that operators do. All of it throws OperatorError, and StoreUnavailableError.
 *
 * @param options.now epoch milliseconds
 */
export function openOperators(
  identity: Identity,
  options: {
    readonly now?: () => number;
    readonly signingKeyPolicy?: SigningKeyPolicy | undefined;
    readonly masterKeyFile?: string | undefined;
    readonly deviceService?: DeviceServiceSettings | undefined;
    /** Whether clients reach the servers at a public address. */
    readonly isPublic?: boolean;
    /** Settings of the store with which it may lose writes. */
    readonly storeWarnings?: () => readonly string[];
  } = {},
) {
  const { now, signingKeyPolicy, masterKeyFile, deviceService } = options;
  const dependencies = createDependencies(identity, now);
  const users = { ...createUserActs(dependencies), ...createUserAccessActs(dependencies) };
  const organizations = withOperatorErrors(createOrganizationActs(dependencies));
  const clients = withOperatorErrors({
    ...createClientActs(dependencies),
    ...createClientUseActs(dependencies),
  });
  const settings = withOperatorErrors(createSettingsActs(dependencies));
  const changed = { organizations, clients, settings };
  const reported = {
    figures: withOperatorErrors(createFigureActs(dependencies)),
    findings: withOperatorErrors(createFindingActs(dependencies, options)),
    requests: withOperatorErrors(createRequestActs(dependencies)),
  };
  return {
    /** Records what an operator did outside of these acts. */
    record: dependencies.record,
    ...changed,
    declarations: withOperatorErrors(createDeclarationActs(dependencies, changed)),
    clientKeys: withOperatorErrors(createClientKeyActs(dependencies)),
    users: withOperatorErrors(users),
    tokens: withOperatorErrors(createTokenActs(dependencies)),
    signingKeys: withOperatorErrors(createSigningKeyActs(dependencies, signingKeyPolicy)),
    audit: withOperatorErrors(createAuditActs(dependencies)),
    /** Undefined without the address of the device service. */
    devices: deviceService && createDeviceActs(dependencies, deviceService, signingKeyPolicy),
    ...reported,
    installation: withOperatorErrors(
      createInstallationActs(dependencies, { settings, ...reported }, masterKeyFile),
    ),
  };
}
