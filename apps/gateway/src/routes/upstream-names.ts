/** Name of the device service: in the route table, and as the audience of the tokens it accepts. */
export const deviceService = 'device-service';
