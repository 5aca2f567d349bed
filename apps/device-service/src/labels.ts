/** The texts of enumerated values, in the languages of replies. */
import type { DeviceState, DeviceType, LogType } from '@gatehouse/device-api';

export type Language = 'en' | 'zh';

export type Labels<Value extends string> = Readonly<
  Record<Value, Readonly<Record<Language, string>>>
>;

export const deviceTypeLabels: Labels<DeviceType> = {
  device: { en: 'Direct-connected device', zh: '直连设备' },
  childrenDevice: { en: 'Gateway child device', zh: '网关子设备' },
  gateway: { en: 'Gateway device', zh: '网关设备' },
};

export const stateLabels: Labels<DeviceState> = {
  notActive: { en: 'Not activated', zh: '未启用' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '在线' },
};

export const logTypeLabels: Labels<LogType> = {
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
};
