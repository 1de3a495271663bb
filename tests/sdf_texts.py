"""An SDF document with poses relative to links, joints, frames and models."""

ARM = """<sdf version="1.9">
  <model name="arm">
    <pose>0.1 0.2 0.3 0 0 0</pose>
    <link name="base">
      <inertial><mass>3</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    </link>
    <frame name="shoulder" attached_to="base"><pose>0 0.1 0.5 0.3 -0.2 0.7</pose></frame>
    <link name="upper">
      <pose relative_to="shoulder">0.05 0 0.02 0.1 0.2 0.3</pose>
      <inertial>
        <pose>0.1 0.02 0.2 0.4 0.5 0.6</pose><mass>2.5</mass>
        <inertia><ixx>0.05</ixx><ixy>0.002</ixy><ixz>-0.003</ixz><iyy>0.06</iyy><iyz>0.004</iyz><izz>0.03</izz></inertia>
      </inertial>
    </link>
    <joint name="lift" type="revolute">
      <pose>0.01 0.02 -0.03 0.2 0.1 0</pose>
      <parent>shoulder</parent><child>upper</child>
      <axis><xyz expressed_in="base">0 1 0.5</xyz>
        <limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>4</velocity></limit>
        <dynamics><damping>0.7</damping><friction>0</friction></dynamics></axis>
    </joint>
    <link name="slide">
      <pose relative_to="lift">0.3 0 0 0 0 1.5</pose>
      <inertial><mass>1.2</mass><inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.015</izz></inertia></inertial>
    </link>
    <joint name="reach" type="prismatic">
      <pose relative_to="upper">0.2 0.1 0 0 0.3 0</pose>
      <parent>upper</parent><child>slide</child>
      <axis><xyz>1 0 0.2</xyz></axis>
    </joint>
    <model name="tool">
      <pose relative_to="slide">0 0 0.2 0.5 0 0</pose>
      <link name="cup">
        <pose>0.02 0 0.01 0 0 0</pose>
        <inertial><pose>0 0 0.05 0 0 0</pose><mass>0.4</mass>
          <inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.0005</izz></inertia></inertial>
      </link>
      <link name="spinner">
        <pose relative_to="cup">0 0.05 0.1 0.2 0.3 0.4</pose>
        <inertial><pose>0.03 0 0 0 0 0</pose><mass>0.2</mass>
          <inertia><ixx>0.0002</ixx><iyy>0.0003</iyy><izz>0.0003</izz></inertia></inertial>
      </link>
      <joint name="spin" type="continuous">
        <parent>cup</parent><child>spinner</child><axis><xyz>0 1 0</xyz></axis>
      </joint>
    </model>
    <joint name="mount" type="fixed"><parent>slide</parent><child>tool::cup</child></joint>
  </model>
</sdf>
"""
