import { describe, expect, test } from '@jest/globals';
import { namesOfOthers } from '../../test/names-of-others.ts';
import { knownVariables, otherWordsForOurs, variablesOfOthers } from './known-variables.ts';
import { findMisspeltVariables } from './misspelt-variables.ts';

const environmentOf = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, 'set']));
const meantBy = (name: string) => findMisspeltVariables({ [name]: 'set' })[0]?.meant;
const longNames = knownVariables.filter((name) => name.length >= 8);

/** Everything that one slip of the finger makes of a name. */
function oneMistake(name: string): readonly string[] {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'];
  const places = Array.from({ length: name.length + 1 }, (_value, i) => i);
  const misspellings = places.flatMap((i) => {
    const [before, after, rest] = [name.slice(0, i), name.slice(i), name.slice(i + 1)];
    const swapped = `${before}${after.charAt(1)}${after.charAt(0)}${after.slice(2)}`;
    return [
      ...letters.flatMap((letter) => [before + letter + after, before + letter + rest]),
      ...[before + rest, swapped],
    ];
  });
  return [...new Set(misspellings)].filter((made) => made !== name);
}

describe('a misspelt name of a variable', () => {
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
    ['CLIENT_REQUESTS_PER_MINUT', 'CLIENT_REQUESTS_PER_MINUTE'],
    ['CLIENT_REQUEST_PER_MINUTES', 'CLIENT_REQUESTS_PER_MINUTE'],
    ['AUTORISATION_SERVER_URL', 'AUTHORIZATION_SERVER_URL'],
    ['STORE_URI', 'STORE_URL'],
    ['STORE_URL_FIL', 'STORE_URL_FILE'],
    ['STORE_URLFILE', 'STORE_URL_FILE'],
    ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
    ['MASTER_KEYS_FILE', 'MASTER_KEY_FILE'],
    ['COOKIE_KEY_FILE', 'COOKIE_KEYS_FILE'],
    ['DATA_DIRR', 'DATA_DIR'],
    ...Object.entries(otherWordsForOurs),
  ])('CF-07 %j is refused, and told to mean %s', (name, meant) => {
    expect(findMisspeltVariables({ [name]: 'marker' })).toEqual([
      { name, meant, message: `is no variable of Gatehouse, ${meant} is: rename or unset it` },
    ]);
  });

  test('is told to mean what there is', () => {
    expect(knownVariables).toEqual(expect.arrayContaining(Object.values(otherWordsForOurs)));
  });

  test.each(longNames)('CF-07 no single slip of the finger in %s goes unnoticed', (name) => {
    const exempt = new Set([...knownVariables, ...variablesOfOthers]);
    const made = oneMistake(name).filter((wrong) => !exempt.has(wrong));
    expect(made.length).toBeGreaterThan(500);
    expect(made.filter((wrong) => meantBy(wrong) !== name)).toEqual([]);
  });

  test('CF-07 every one of them is told at once', () => {
    const found = findMisspeltVariables({ STORE_URI: 'a', HOST: 'b', LOG_LEVL: 'c', PATH: 'd' });
    expect(found.map(({ name }) => name)).toEqual(['STORE_URI', 'LOG_LEVL']);
  });

  test('is not looked at where it is empty, as compose files hand on what nobody set', () => {
    expect(findMisspeltVariables({ SECURTY_PROFILE: '', STORE_URI: undefined })).toEqual([]);
  });
});

describe('a variable that is not misspelt', () => {
  test('may be one of any app', () => {
    expect(findMisspeltVariables(environmentOf(knownVariables))).toEqual([]);
  });

  test('may be any of those that environments hold for others', () => {
    expect(new Set(namesOfOthers).size).toBeGreaterThan(300);
    expect(findMisspeltVariables(environmentOf(namesOfOthers))).toEqual([]);
  });

  test.each(namesOfOthers.filter((name) => !variablesOfOthers.includes(name)))(
    'may be %s',
    (name) => {
      expect(meantBy(name)).toBeUndefined();
    },
  );

  test.each(['HOSTS', 'HOTS', 'POST', 'host', 'GHOST', 'HOST_'])(
    'may be %s, because a name as short as HOST is like too many',
    (name) => {
      expect(meantBy(name)).toBeUndefined();
    },
  );

  test.each(variablesOfOthers)('may be %s, which is listed because it looks like ours', (name) => {
    expect(meantBy(name)).toBeUndefined();
    expect(meantBy(name.toLowerCase())).toBeUndefined();
    expect(longNames.some((ours) => oneMistake(ours).includes(name))).toBe(true);
  });

  test.each([
    ['GATEWAYS', '8844'],
    ['DEVICES', '8850'],
    ['AUTHORIZATION_SERVERS', '9000'],
    ['GATEWAY_2', '8844'],
  ])('may be what Kubernetes sets for a service called %s', (service, port) => {
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
    expect(findMisspeltVariables(environment)).toEqual([]);
    const url = { [`${service}_URL`]: 'x' };
    expect(findMisspeltVariables({ ...environment, ...url })).toEqual(findMisspeltVariables(url));
  });

  test('that is, GATEWAYS_PORT without such a service is refused', () => {
    expect(meantBy('GATEWAYS_PORT')).toBe('GATEWAY_PORT');
  });
});
