import { describeTag } from '../tags/tag.ts';
import type { Device, DeviceState, DeviceSummary, DeviceType } from './device.ts';
import { type LabelLanguage, type Labelled, type Labels, label } from './labels.ts';

const stateLabels: Labels<DeviceState> = {
  notActive: { en: 'Not activated', zh: '未启用' },
  offline: { en: 'Offline', zh: '离线' },
  online: { en: 'Online', zh: '在线' },
};

const deviceTypeLabels: Labels<DeviceType> = {
  device: { en: 'Direct-connected device', zh: '直连设备' },
  childrenDevice: { en: 'Gateway child device', zh: '网关子设备' },
  gateway: { en: 'Gateway device', zh: '网关设备' },
};

/** An item of a device list. Clients in the wild read either name of the registration time. */
export function describeSummary(device: DeviceSummary, language: LabelLanguage) {
  return {
    ...device,
    deviceType: label(deviceTypeLabels, device.deviceType, language),
    state: label(stateLabels, device.state, language),
    registryTime: device.registerTime,
  };
}

/** The whole record (specification: "Device detail record"). */
export function describeDevice(device: Device, language: LabelLanguage) {
  return {
    id: device.id,
    name: device.name,
    protocol: device.protocol,
    transport: device.transport,
    orgId: device.orgId,
    productId: device.productId,
    productName: device.productName,
    deviceType: label(deviceTypeLabels, device.deviceType, language),
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

export function describeDeviceType(
  value: DeviceType,
  language: LabelLanguage,
): Labelled<DeviceType> {
  return label(deviceTypeLabels, value, language);
}
