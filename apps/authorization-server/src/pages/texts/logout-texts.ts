export const logoutTexts = {
  en: {
    logoutTitle: 'Sign out?',
    logoutLead: 'You are signed in as {name}.',
    logoutEnds: 'Signing out ends this browser’s session and the access of these applications:',
    logoutEndsNothing: 'Signing out ends this browser’s session.',
    logoutKeepsDevices:
      'Devices that you connected with a code stay connected. You can end their access on your account page.',
    signOut: 'Sign out',
    staySignedIn: 'Stay signed in',
    signedOutTitle: 'You are signed out',
    signedOut: 'On a shared computer, close the browser as well.',
    signInAgain: 'Sign in again',
  },
  zh: {
    logoutTitle: '要退出登录吗？',
    logoutLead: '您已登录为 {name}。',
    logoutEnds: '退出将结束此浏览器的会话，以及您在此登录的以下应用的访问权限：',
    logoutEndsNothing: '退出将结束此浏览器的会话。',
    logoutKeepsDevices: '用代码连接的设备会保持连接；您可以在账户页面撤销。',
    signOut: '退出登录',
    staySignedIn: '保持登录',
    signedOutTitle: '您已退出登录',
    signedOut: '如果使用公共电脑，请同时关闭浏览器。',
    signInAgain: '重新登录',
  },
} as const;
