import type { LogRecordReply, LogType } from '@gatehouse/device-api';
import { type LabelLanguage, type Labels, label } from '../labels/label.ts';
import type { LogRecord } from './log-record.ts';

const labels: Labels<LogType> = {
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

export function describeLogRecord(record: LogRecord, language: LabelLanguage): LogRecordReply {
  const { id, deviceId, productId, type, createTime, timestamp, content, messageId } = record;
  return {
    id,
    deviceId,
    productId,
    type: label(labels, type, language),
    createTime,
    timestamp,
    content,
    ...(messageId === '' ? {} : { messageId }),
  };
}
