/** The enumerated values, and their texts in the languages of replies. */
export type Language = 'en' | 'zh';

export type Labels<Value extends string = string> = {
  readonly [Each in Value]: { readonly [Name in Language]: string };
};

export const deviceTypeLabels = {
  device: { en: 'Direct-connected device', zh: '直连设备' },
  childrenDevice: { en: 'Gateway child device', zh: '网关子设备' },
  gateway: { en: 'Gateway device', zh: '网关设备' },
} as const satisfies Labels;

export const stateLabels = {
  notActive: { en: 'Not activated', zh: '未启用' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '在线' },
} as const satisfies Labels;

export const logTypeLabels = {
  event: { en: 'Event', zh: '事件上报' },
  readProperty: { en: 'Read property', zh: '读取属性' },
  writeProperty: { en: 'Write property', zh: '修改属性' },
  reportProperty: { en: 'Report property', zh: '属性上报' },
  child: { en: 'Child device message', zh: '子设备消息' },
  childReply: { en: 'Child device reply', zh: '子设备消息回复' },
  functionInvoke: { en: 'Invoke function', zh: '调用功能' },
  readPropertyReply: { en: 'Read property reply', zh: '读取属性回复' },
  writePropertyReply: { en: 'Write property reply', zh: '修改属性回复' },
  functionReply: { en: 'Invoke function reply', zh: '调用功能回复' },
  register: { en: 'Register', zh: '设备注册' },
  unregister: { en: 'Unregister', zh: '设备注销' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '上线' },
  other: { en: 'Other', zh: '其它' },
} as const satisfies Labels;
