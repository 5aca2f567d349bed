// cspell:ignore AUTHORISATION
import { describe, expect, test } from '@jest/globals';
import {
  findMisspelledVariables,
  formerVariables,
  knownVariables,
  likelyNames,
  retiredVariables,
  securityVariables,
  variablesOfOthers,
} from './variable-names.ts';

const environmentOf = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, 'set']));
const nothing = { problems: [], warnings: [] };
const longNames = knownVariables.filter((name) => name.length >= 8);
const hint = (meant: string) => `looks like a misspelling of ${meant}. Rename it or unset it`;

/** Every name that one mistake of typing can produce. */
function oneMistake(name: string): readonly string[] {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'];
  const places = Array.from({ length: name.length + 1 }, (_value, i) => i);
  const misspellings = places.flatMap((i) => {
    const [before, after, rest] = [name.slice(0, i), name.slice(i), name.slice(i + 1)];
    const swapped = `${before}${after.charAt(1)}${after.charAt(0)}${after.slice(2)}`;
    return [
      ...letters.flatMap((letter) => [before + letter + after, before + letter + rest]),
      before + rest,
      swapped,
    ];
  });
  return [...new Set(misspellings)].filter((made) => made !== name);
}

describe('a misspelled variable', () => {
  test.each([
    ['SECURTY_PROFILE', 'SECURITY_PROFILE'],
    ['SECURITY_PROFIEL', 'SECURITY_PROFILE'],
    ['SECURITYPROFILE', 'SECURITY_PROFILE'],
    ['SECURITY__PROFILE', 'SECURITY_PROFILE'],
    ['SECURITY_PROFILES', 'SECURITY_PROFILE'],
    ['security_profile', 'SECURITY_PROFILE'],
    ['Security-Profile', 'SECURITY_PROFILE'],
    ['security.profil', 'SECURITY_PROFILE'],
    ['SECURITY_PROFILE ', 'SECURITY_PROFILE'],
    ['SECURITY_PROFILE\r', 'SECURITY_PROFILE'],
    ['\uFEFFSECURITY_PROFILE', 'SECURITY_PROFILE'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['TRUSTD_PROXY', 'TRUSTED_PROXIES'],
    ['ADDRESS_RATE_LIMITS', 'ADDRESS_RATE_LIMIT'],
    ['CLIENT_ENDPOINTS_RATE_LIMIT', 'CLIENT_ENDPOINT_RATE_LIMIT'],
    ['CLIENT_REQUEST_PER_MINUTES', 'CLIENT_REQUESTS_PER_MINUTE'],
    ['AUTHORISATION_SERVER_URL', 'AUTHORIZATION_SERVER_URL'],
    ['STORE_URI', 'STORE_URL'],
    ['STORE_URL_FIL', 'STORE_URL_FILE'],
    ['STORE_URLFILE', 'STORE_URL_FILE'],
    ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
    ['MASTER_KEYS_FILE', 'MASTER_KEY_FILE'],
    ['COOKIE_KEY_FILE', 'COOKIE_KEYS_FILE'],
    ['DATA_DIRR', 'DATA_DIR'],
    ...Object.entries(likelyNames).filter(([, meant]) => securityVariables.includes(meant)),
  ])('%j is rejected as a misspelling of %s', (name, meant) => {
    expect(findMisspelledVariables({ [name]: 'marker' })).toEqual({
      problems: [{ name, meant, message: hint(meant) }],
      warnings: [],
    });
  });

  test.each([
    ['GATEWAY_PROT', 'GATEWAY_PORT'],
    ['log_level', 'LOG_LEVEL'],
    ['SHUTDOWN_DELAY', 'SHUTDOWN_DELAY_SECONDS'],
  ])('%j causes a warning, because %s protects nothing', (name, meant) => {
    expect(findMisspelledVariables({ [name]: 'marker' })).toEqual({
      problems: [],
      warnings: [`${name}: ${hint(meant)}`],
    });
  });

  test.each(longNames)('is found for every single mistake in %s', (name) => {
    const exempt = new Set([...knownVariables, ...variablesOfOthers]);
    const misspellings = oneMistake(name).filter((wrong) => !exempt.has(wrong));
    expect(misspellings.length).toBeGreaterThan(500);
    const { problems, warnings } = findMisspelledVariables(environmentOf(misspellings));
    if (securityVariables.includes(name)) {
      expect(problems.map(({ meant }) => meant)).toEqual(misspellings.map(() => name));
    } else {
      expect(warnings).toEqual(misspellings.map((wrong) => `${wrong}: ${hint(name)}`));
    }
  });

  test('is ignored while it is empty, because compose files pass on variables without a value', () => {
    expect(findMisspelledVariables({ SECURTY_PROFILE: '', STORE_URI: undefined })).toEqual(nothing);
  });
});

describe('a variable that is not misspelled', () => {
  test('can belong to any app', () => {
    const current = knownVariables.filter(
      (name) =>
        !(name in formerVariables || name in retiredVariables || name.startsWith('FORMER_')),
    );
    expect(findMisspelledVariables(environmentOf(current))).toEqual(nothing);
  });

  test.each(['HOSTS', 'HOTS', 'POST', 'host', 'GHOST', 'HOST_'])(
    'can be %s, because names as short as HOST resemble too many others',
    (name) => {
      expect(findMisspelledVariables({ [name]: 'set' })).toEqual(nothing);
    },
  );

  test.each(['STORE_HOST', 'GATEWAY_HOST', 'AUTH_SERVER_URL', 'SECURITY_PROFILE_2X'])(
    'can be %s, which is two mistakes away',
    (name) => {
      expect(findMisspelledVariables({ [name]: 'set' })).toEqual(nothing);
    },
  );

  test.each(variablesOfOthers)('can be %s, which another program uses', (name) => {
    expect(findMisspelledVariables(environmentOf([name, name.toLowerCase()]))).toEqual(nothing);
    expect(longNames.some((known) => oneMistake(known).includes(name))).toBe(true);
  });

  test.each([
    ['GATEWAYS', '8844'],
    ['DEVICES', '8850'],
    ['AUTHORIZATION_SERVERS', '9000'],
    ['GATEWAY_2', '8844'],
  ])(
    'can be one that Kubernetes sets for the service %s, which never prevents a start',
    (service, port) => {
      const environment = {
        [`${service}_SERVICE_HOST`]: '10.0.0.11',
        [`${service}_SERVICE_PORT`]: port,
        [`${service}_SERVICE_PORT_HTTP`]: port,
        [`${service}_PORT`]: `tcp://10.0.0.11:${port}`,
        [`${service}_PORT_${port}_TCP`]: `tcp://10.0.0.11:${port}`,
        [`${service}_PORT_${port}_TCP_PROTO`]: 'tcp',
        [`${service}_PORT_${port}_TCP_PORT`]: port,
        [`${service}_PORT_${port}_TCP_ADDR`]: '10.0.0.11',
      };
      expect(findMisspelledVariables(environment).problems).toEqual([]);
    },
  );
});
