import type { DeviceType, Labeled } from '@gatehouse/device-api';
import { type LabelLanguage, type Labels, label } from './label.ts';

const labels: Labels<DeviceType> = {
  device: { en: 'Direct-connected device', zh: '直连设备' },
  childrenDevice: { en: 'Gateway child device', zh: '网关子设备' },
  gateway: { en: 'Gateway device', zh: '网关设备' },
};

export function labelDeviceType(value: DeviceType, language: LabelLanguage): Labeled<DeviceType> {
  return label(labels, value, language);
}
