/** Everything a page says, in the languages the pages speak. */
export const texts = {
  en: {
    signInTitle: 'Sign in',
    signInLead: 'to continue to {client}',
    username: 'Username',
    password: 'Password',
    signIn: 'Sign in',
    signInFailed: 'That username and password do not match an account. Check both and try again.',
    consentTitle: '{client} asks for access',
    consentLead: 'If you allow it, this application will be able to:',
    signedInAs: 'Signed in as {name}',
    returnsTo: 'You will go on to {host}',
    applicationId: 'Application ID: {clientId}',
    allow: 'Allow',
    deny: 'Deny',
    errorTitle: 'This did not work',
    errorReference: 'If you ask for help, give this reference: {reference}',
    signInExpired:
      'This sign-in has expired or was started in another browser. Go back to the application and start again.',
    formRefused: 'This form is no longer valid. Go back to the application and start again.',
    unavailable: 'The service is unavailable for the moment. Try again shortly.',
    tooManyAttempts:
      'There were too many attempts to sign in. Wait a quarter of an hour and try again.',
    unexpected: 'Something went wrong on our side. Try again; if it stays, tell the operator.',
    notFound: 'There is no page here.',
    badRequest:
      'The application sent a request that cannot be served. This is for the application’s developer to mend.',
    scopes: {
      'device:read': 'See your devices and their details',
      'device:write': 'Add devices and change them',
      'device:log': 'Read the logs of your devices',
      'device:report': 'Report data for your devices',
      openid: 'Confirm who you are',
      profile: 'See your name and username',
      offline_access: 'Keep this access while you are away',
    },
  },
  zh: {
    signInTitle: '登录',
    signInLead: '以继续使用 {client}',
    username: '用户名',
    password: '密码',
    signIn: '登录',
    signInFailed: '用户名或密码不正确，请检查后重试。',
    consentTitle: '{client} 请求访问权限',
    consentLead: '如果您允许，此应用将可以：',
    signedInAs: '已登录：{name}',
    returnsTo: '之后将前往 {host}',
    applicationId: '应用标识：{clientId}',
    allow: '允许',
    deny: '拒绝',
    errorTitle: '操作未成功',
    errorReference: '如需帮助，请提供此编号：{reference}',
    signInExpired: '此次登录已过期，或是在另一个浏览器中开始的。请返回应用重新开始。',
    formRefused: '此表单已失效。请返回应用重新开始。',
    unavailable: '服务暂时不可用，请稍后重试。',
    tooManyAttempts: '登录尝试过多，请等待一刻钟后重试。',
    unexpected: '服务器出现问题。请重试；如仍未解决，请联系运营方。',
    notFound: '此处没有页面。',
    badRequest: '应用发送了无法处理的请求，请由该应用的开发者修正。',
    scopes: {
      'device:read': '查看您的设备及其详情',
      'device:write': '添加和修改设备',
      'device:log': '读取您设备的日志',
      'device:report': '为您的设备上报数据',
      openid: '确认您的身份',
      profile: '查看您的姓名和用户名',
      offline_access: '在您离开时保持此访问权限',
    },
  },
} as const;

export type Language = keyof typeof texts;

export interface Texts extends Record<PlainText, string> {
  readonly scopes: Readonly<Record<string, string>>;
}
type PlainText = Exclude<keyof (typeof texts)['en'], 'scopes'>;

/** The page language by `Accept-Language`; English where neither is preferred. */
export function textsFor(preferred: Language | false): { language: string; texts: Texts } {
  const language = preferred === false ? 'en' : preferred;
  return { language: language === 'zh' ? 'zh-CN' : 'en', texts: texts[language] };
}

export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
