/** Every application shows this page at its address, so that one test can drive all of them. */
export function homePage(user) {
  return user === undefined || user === null
    ? '<p>Signed out.</p><a href="/login">Sign in</a>'
    : `<p>Signed in as ${user.name}, ${user.email}.</p><a href="/logout">Sign out</a>`;
}
