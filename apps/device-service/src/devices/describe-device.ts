import type { DeviceRecord, DeviceState, DeviceSummaryRecord } from '@gatehouse/device-api';
import { type LabelLanguage, type Labels, label } from '../labels/label.ts';
import { labelDeviceType } from '../labels/label-device-type.ts';
import { describeTag } from '../tags/tag.ts';
import type { Device, DeviceSummary } from './device.ts';

const stateLabels: Labels<DeviceState> = {
  notActive: { en: 'Not activated', zh: '未启用' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '在线' },
};

/** An item of a device list. */
export function describeSummary(
  device: DeviceSummary,
  language: LabelLanguage,
): DeviceSummaryRecord {
  return {
    ...device,
    deviceType: labelDeviceType(device.deviceType, language),
    state: label(stateLabels, device.state, language),
    registryTime: device.registerTime,
  };
}

/** The complete record (specification: "Device detail record"). */
export function describeDevice(device: Device, language: LabelLanguage): DeviceRecord {
  return {
    id: device.id,
    name: device.name,
    protocol: device.protocol,
    transport: device.transport,
    orgId: device.orgId,
    productId: device.productId,
    productName: device.productName,
    deviceType: labelDeviceType(device.deviceType, language),
    state: label(stateLabels, device.state, language),
    address: device.address,
    onlineTime: device.onlineTime,
    offlineTime: device.offlineTime,
    createTime: device.createTime,
    registerTime: device.registerTime,
    metadata: device.metadata,
    configuration: device.configuration,
    tags: device.tags.map(describeTag),
  };
}
