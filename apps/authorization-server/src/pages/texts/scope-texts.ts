/** What each scope lets an application do, as the end of "this application will be able to". */
export const scopeTexts = {
  en: {
    'device:read': 'See your devices and their details',
    'device:write': 'Add devices and change them',
    'device:log': 'Read the logs of your devices',
    'device:report': 'Report data for your devices',
    openid: 'Confirm who you are',
    profile: 'See your name and username',
    email: 'See your email address',
    groups: 'See your organization and your roles',
    offline_access: 'Keep this access when you are not signed in',
  },
  zh: {
    'device:read': '查看您的设备及其详情',
    'device:write': '添加和修改设备',
    'device:log': '读取您设备的日志',
    'device:report': '为您的设备上报数据',
    openid: '确认您的身份',
    profile: '查看您的姓名和用户名',
    email: '查看您的电子邮箱地址',
    groups: '查看您的组织和角色',
    offline_access: '在您离开时保持此访问权限',
  },
} as const;
