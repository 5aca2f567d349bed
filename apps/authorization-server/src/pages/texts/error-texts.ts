export const errorTexts = {
  en: {
    errorTitle: 'This did not work',
    errorReference: 'If you ask for help, give this reference: {reference}',
    signInExpired:
      'This sign-in has expired or was started in another browser. Go back to the application and start again.',
    signInStartAgain: 'This sign-in can no longer be used. Start again.',
    signInCompleted:
      'You have already finished this step. Continue in the application. If it is not in this window, close this page.',
    startAgain: 'Start again',
    formRefused:
      'This form is no longer valid: it is too old, or it was opened elsewhere. Go back and start again.',
    wasSignedOut: 'You were signed out in the meantime. To continue, sign in again.',
    unavailable: 'The service is temporarily unavailable. Try again shortly.',
    unexpected:
      'Something went wrong on the server. Try again. If the problem persists, contact the operator.',
    startPage: 'Go to the start page',
    tooManyAttempts:
      'There were too many attempts to sign in. Wait a quarter of an hour and try again.',
    tooManyRequests: 'This network sends too many requests. Wait a minute and try again.',
    notFound: 'This page does not exist.',
    badRequest:
      'The application sent an invalid request. The application’s developer has to correct it.',
    methodNotAllowed: 'This page cannot be used in this way. Go back and start again.',
    cookiesNeeded:
      'You are not signed in. Your browser may block cookies. Allow them for this address and try again.',
    cookiesBlocked:
      'Your browser sent no cookies. It may block them, or this page was opened in another browser. Allow cookies for this address, then go back to the application and start again.',
  },
  zh: {
    errorTitle: '操作未成功',
    errorReference: '如需帮助，请提供此编号：{reference}',
    signInExpired: '此次登录已过期，或是在另一个浏览器中开始的。请返回应用重新开始。',
    signInStartAgain: '此次登录已失效，请重新开始。',
    signInCompleted: '您已完成此步骤。请在应用中继续；如果应用不在此窗口中，可以关闭此页面。',
    startAgain: '重新开始',
    formRefused: '此表单已失效：可能已过期，或是在别处打开的。请返回重新开始。',
    wasSignedOut: '您已被退出登录。如需继续，请重新登录。',
    unavailable: '服务暂时不可用，请稍后重试。',
    unexpected: '服务器出现问题。请重试；如仍未解决，请联系运营方。',
    startPage: '前往首页',
    tooManyAttempts: '登录尝试过多，请等待一刻钟后重试。',
    tooManyRequests: '来自此网络的请求过多，请等待一分钟后重试。',
    notFound: '此处没有页面。',
    badRequest: '应用发送了无法处理的请求，请由该应用的开发者修正。',
    methodNotAllowed: '无法以这种方式使用此页面，请返回重新开始。',
    cookiesNeeded: '您尚未在此登录。浏览器可能拒绝了 Cookie：请允许此网址使用 Cookie 后重试。',
    cookiesBlocked:
      '浏览器没有发送 Cookie：可能已将其阻止，或此页面是在另一个浏览器中打开的。请允许此网址使用 Cookie，然后返回应用重新开始。',
  },
} as const;
